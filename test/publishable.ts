/** Whether a package could be published as it stands: npm's own rehearsal, which finds what it would refuse or correct. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'

/** @returns The files that would be published. */
export async function rehearsePublishing(folder: string): Promise<string[]> {
  // npm asks which versions are there already: none.
  const registry = createServer((_, response) => response.writeHead(404).end('{}')).listen(0, '127.0.0.1')
  await once(registry, 'listening')
  const { port } = registry.address() as AddressInfo
  try {
    const { stdout, stderr } = await promisify(execFile)('npm', [
      'publish',
      folder,
      '--dry-run',
      '--json',
      `--registry=http://127.0.0.1:${port}`,
    ])
    assert.doesNotMatch(stderr, /auto-corrected|warn publish/i, stderr)
    const reports: Record<string, { files: { path: string }[] }> = JSON.parse(
      stdout.slice(stdout.indexOf('{')),
    )
    const [report] = Object.values(reports)
    assert(report)
    return report.files.map(({ path }) => path).sort()
  } finally {
    registry.close()
    registry.closeAllConnections()
  }
}
