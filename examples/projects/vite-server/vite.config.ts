import { defineConfig } from 'vite'

export default defineConfig({
  build: { ssr: 'src/server.ts', target: 'node24' },
  // Dependencies go into the file too: the server runs without node_modules. Leave this out to keep them outside.
  ssr: { noExternal: true, external: ['pg'] },
})
