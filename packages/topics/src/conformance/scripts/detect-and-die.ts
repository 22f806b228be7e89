/** Runs the detection, and is killed in the middle of it: as soon as it has found a dead group. */
import { open } from '../../index.ts'

const tm = await open(process.argv[2] ?? '', { maintenance: false })
tm.on('group-dead', () => process.kill(process.pid, 'SIGKILL'))
await tm.admin.jobs['dead-groups'].runOnce()
