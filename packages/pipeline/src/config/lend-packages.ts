import { registerHooks } from 'node:module'

const OWN = ['@tidemark/pipeline', 'tidemark']
let areLent = false

/**
 * A configuration and its modules can be anywhere: beside a program that has Tidemark installed, or in a folder with nothing
 * else in it. Where `@tidemark/pipeline` or `tidemark` is not to be found from there, it is the one that runs.
 */
export function lendPackages(): void {
  if (areLent) return
  areLent = true
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        // The second is what require() says.
        const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
        if (!isMissing || !OWN.includes(specifier)) throw error
        return { url: import.meta.resolve(specifier), shortCircuit: true }
      }
    },
  })
}
