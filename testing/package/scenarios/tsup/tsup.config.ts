import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['main.ts'],
  format: ['esm', 'cjs'],
  platform: 'node',
  noExternal: [/.*/],
  splitting: false,
  // pg is CommonJS and requires modules of Node.
  banner: ({ format }) =>
    format === 'esm'
      ? { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)" }
      : {},
})
