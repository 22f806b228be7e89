import module from 'node:module'

const OWN = ['@tidemark/pipeline', 'tidemark']
let areLent = false

/**
 * A configuration and its modules can be anywhere: beside a program that has Tidemark installed, or in an otherwise
 * empty folder. If `@tidemark/pipeline` or `tidemark` can't be resolved from there, the running package is used.
 */
export function lendPackages(): void {
  if (areLent) return
  areLent = true
  // Other runtimes than Node may lack it; then a configuration needs the packages beside it.
  module.registerHooks?.({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        // The second code is that of require().
        const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
        const url = isMissing && OWN.includes(specifier) ? lent(specifier) : undefined
        if (url === undefined) throw error
        return { url, shortCircuit: true }
      }
    },
  })
}

/** Undefined if this code is part of a bundle, and there is no package to lend. */
function lent(specifier: string): string | undefined {
  try {
    return import.meta.resolve(specifier)
  } catch {
    return undefined
  }
}
