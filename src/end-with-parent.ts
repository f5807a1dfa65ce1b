/**
 * Loaded into a child process with --import: ends it in order when its parent is gone, which closes the pipe on its
 * standard input however the parent died. Without it a killed Beck would leave a signer behind. A child that is done
 * ends all the same: the pipe does not keep it.
 */
process.stdin
  .on('end', () => process.kill(process.pid, 'SIGTERM'))
  .resume()
  .unref()
