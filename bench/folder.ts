import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new folder that PostgreSQL's user can enter too: elsewhere, a cluster of root's would outlive what the bench removes. */
export async function benchFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'beck-bench-'))
  await chmod(folder, 0o711)
  return folder
}
