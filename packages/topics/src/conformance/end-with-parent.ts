/** Loaded first into every process that a suite starts: it ends soon after the process that started it, however that ended. */
const SOON_MS = 1_000

process.on('disconnect', () => setTimeout(() => process.exit(), SOON_MS).unref())
// A script may end while its parent goes on: the listener must not keep it.
process.channel?.unref()
