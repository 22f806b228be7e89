import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { build as Build } from 'esbuild'

/** A file of the page: its name carries a hash of its content, so it can be cached for ever. */
export type BundledFile = { readonly name: string; readonly bytes: Uint8Array }

export type Bundle = { readonly shell: string; readonly files: readonly BundledFile[] }

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/**
 * Bundles the page in memory. esbuild is a development dependency: a published package has the result in dist, and a
 * checkout bundles at start, so that `npm ci && npm start` needs no build step.
 */
export async function bundlePage({ minify = true } = {}): Promise<Bundle> {
  const { build, stop } = await import('esbuild')
  bundling++
  try {
    return await bundleWith(build, minify)
  } finally {
    if (--bundling === 0) await stop()
  }
}

/** Bundles that are being made. esbuild works in a process of 40 MB, which would stay for as long as the server runs. */
let bundling = 0

async function bundleWith(build: typeof Build, minify: boolean): Promise<Bundle> {
  const worker = await build({
    ...options(minify),
    entryPoints: [at('./page/world/worker.ts')],
    entryNames: 'worker-[hash]',
  })
  const [workerFile] = worker.outputFiles.map(fileOf)
  if (workerFile === undefined) throw new Error('esbuild made no worker')
  const { outputFiles } = await build({
    ...options(minify),
    entryPoints: [at('./page/main.tsx'), at('./page/styles/page.css')],
    entryNames: '[name]-[hash]',
    chunkNames: 'chunk-[hash]',
    splitting: true,
    define: { WORKER_FILE: JSON.stringify(workerFile.name) },
  })
  const files = [...outputFiles.map(fileOf), workerFile]
  const named = (start: string, end: string): string =>
    files.find(({ name }) => name.startsWith(start) && name.endsWith(end))?.name ?? ''
  return { shell: shellOf(named('main-', '.js'), named('page-', '.css')), files }
}

const options = (minify: boolean) =>
  ({
    bundle: true,
    write: false,
    minify,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    outdir: '/',
    legalComments: 'none',
    logLevel: 'silent',
  }) as const

const fileOf = ({ path, contents }: { readonly path: string; readonly contents: Uint8Array }): BundledFile => ({
  name: path.slice(path.lastIndexOf('/') + 1),
  bytes: contents,
})

/** The version of the page, by which an open page notices a new one. */
const versionOf = (script: string, style: string): string =>
  createHash('sha256').update(`${script} ${style}`).digest('hex').slice(0, 12)

const shellOf = (script: string, style: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="tidemark-page" content="${versionOf(script, style)}">
<title>Tidemark</title>
<link rel="icon" href="data:image/svg+xml,${ICON}">
<link rel="stylesheet" href="/assets/${style}">
<script type="module" src="/assets/${script}"></script>
</head>
<body><noscript>Tidemark's page needs JavaScript. The API is described at /api/v1/.</noscript></body>
</html>
`

/** Three waves. */
const ICON = encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M1 5q3.5-3 7 0t7 0M1 9q3.5-3 7 0t7 0M1 13q3.5-3 7 0t7 0" fill="none" stroke="#0b9aa3" stroke-width="1.8" stroke-linecap="round"/></svg>',
)
