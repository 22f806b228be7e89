/** Runs the detection, and is killed in the middle of it: the moment it has found a group dead. */
import { open } from '../../index.ts'

const tm = await open(process.argv[2] ?? '', { maintenance: false })
tm.on('group-dead', () => process.kill(process.pid, 'SIGKILL'))
await tm.admin.jobs['dead-groups'].runOnce()
