/** Loaded first into every process that a suite starts: ends it soon after its parent process, however that ended. */
const SOON_MS = 1_000

process.on('disconnect', () => setTimeout(() => process.exit(), SOON_MS).unref())
// A script may end while its parent goes on: the listener must not keep it alive.
process.channel?.unref()
