/** Durations are read alike in topics and pipeline. */
export { parseDuration } from 'tidemark'
