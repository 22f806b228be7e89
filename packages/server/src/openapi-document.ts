import { createApp } from './app.ts'
import { Context } from './context.ts'
import { checkServerOptions } from './options.ts'

/** The description as kept in the repository: of a server that serves nothing but knows every route. */
export async function openApiDocument(): Promise<string> {
  const context = new Context(checkServerOptions({}))
  const app = await createApp(context)
  try {
    await app.ready()
    return `${JSON.stringify(app.swagger(), null, 2)}\n`
  } finally {
    await app.close()
    await context.close()
    await context.finish()
  }
}
