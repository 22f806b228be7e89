import module from 'node:module'

const OWN = ['@tidemark/pipeline', 'tidemark']
let areLent = false

/**
 * A configuration and its modules can be anywhere: beside a program that has Tidemark installed, or in a folder with nothing
 * else in it. Where `@tidemark/pipeline` or `tidemark` is not to be found from there, it is the one that runs.
 */
export function lendPackages(): void {
  if (areLent) return
  areLent = true
  // Other runtimes than Node may not have it, and a configuration then needs the packages beside it.
  module.registerHooks?.({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        // The second is what require() says.
        const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
        const url = isMissing && OWN.includes(specifier) ? lent(specifier) : undefined
        if (url === undefined) throw error
        return { url, shortCircuit: true }
      }
    },
  })
}

/** Undefined where this code is part of a bundle, and there is no package to lend. */
function lent(specifier: string): string | undefined {
  try {
    return import.meta.resolve(specifier)
  } catch {
    return undefined
  }
}
