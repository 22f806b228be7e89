import type { Logger } from 'tidemark'

export const SILENT: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
