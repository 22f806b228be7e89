/** Converts a typed message to the API's form. The payload is passed on unchanged, so that large numbers stay exact. */
export function bodyOf({ payload, key, headers }: { payload: string; key: string; headers: string }): string {
  try {
    JSON.parse(payload)
  } catch (error) {
    throw new Error(`The payload is not JSON: ${(error as Error).message}`)
  }
  const rest = JSON.stringify({
    ...(key !== '' && { key }),
    ...(headers.trim() !== '' && { headers: headersOf(headers) }),
  })
  return `{"payload":${payload}${rest === '{}' ? '' : `,${rest.slice(1, -1)}`}}`
}

/** "name: value" lines. */
function headersOf(text: string): { [name: string]: string } {
  const lines = text.split('\n').filter(line => line.trim() !== '')
  return Object.fromEntries(
    lines.map(line => {
      const at = line.indexOf(':')
      if (at < 1) throw new Error(`"${line.trim()}" is no header. Write name: value.`)
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}
