/** Starts what a test process may start, tells what, and lives until it is killed. With 'sleep' it only lives. */
import { temporaryFolder } from '../databases.ts'
import { startPostgres } from '../postgres-server.ts'
import { spawnScript } from '../processes.ts'

setInterval(() => {}, 60_000)

if (process.argv[2] !== 'sleep') {
  const server = await startPostgres()
  const child = spawnScript(import.meta.filename, ['sleep'])
  const folder = temporaryFolder()
  console.log(JSON.stringify({ pids: [server.pid, child.pid], folders: [server.dataDir, folder.path] }))
}
