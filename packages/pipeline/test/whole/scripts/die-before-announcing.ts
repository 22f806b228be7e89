/** Loaded before the program itself: kills it when a given number of batches are stored and the last is not announced yet. */
import { BATCH_TOPIC } from '../../../src/index.ts'
// Inside: dies between storing and announcing, a moment that nobody can hit from outside.
import { Announcer } from '../../../src/services/persistence/announcer.ts'

const { announce } = Announcer.prototype
let left = Number(process.env.TIDEMARK_TEST_ANNOUNCEMENTS)

Announcer.prototype.announce = async function (...args) {
  if (this.topic === BATCH_TOPIC && left-- === 0) process.kill(process.pid, 'SIGKILL')
  return await announce.apply(this, args)
}
