/** Cookies ignore ports, so each server of a machine has its own cookie name. */
export type CookieKind = { readonly port: number; readonly isSecure: boolean }

/** The prefix makes browsers refuse a cookie that was set by another host, or without TLS. */
export const cookieName = ({ port, isSecure }: CookieKind): string => `${isSecure ? '__Host-' : ''}tidemark_${port}`

/** All of that name: somebody else on this host may have set another one. */
export function cookiesOf(header: string | undefined, name: string): readonly string[] {
  return (header ?? '')
    .split(';')
    .map(each => each.trim())
    .filter(each => each.startsWith(`${name}=`))
    .map(each => each.slice(name.length + 1))
    .slice(0, 4)
}

export function setCookie(kind: CookieKind, value: string, expiresAt: number, now = Date.now()): string {
  const maxAge = Math.max(0, Math.floor((expiresAt - now) / 1_000))
  const secure = kind.isSecure ? '; Secure' : ''
  return `${cookieName(kind)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`
}

export const clearCookie = (kind: CookieKind): string => setCookie(kind, '', 0, 0)
