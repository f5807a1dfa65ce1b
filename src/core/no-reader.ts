/** What a program prints, and who reads it no further. */

/** Whoever reads no further (`| head`) has enough: what is written after that goes nowhere, and is no error. */
export function mindNoReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}
