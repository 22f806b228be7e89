/** Writes openapi.json from the schemas of the routes: `npm run generate`. */
import { writeFile } from 'node:fs/promises'
import { openApiDocument } from './src/openapi-document.ts'

await writeFile(new URL('openapi.json', import.meta.url), await openApiDocument())
