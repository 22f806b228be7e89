import { defineConfig } from 'vite'

export default defineConfig({
  ssr: { noExternal: true },
  build: { ssr: 'main.ts', outDir: 'inside', rolldownOptions: { output: { codeSplitting: false } } },
})
