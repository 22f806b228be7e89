import { computed, effect, signal } from '@preact/signals'
import { csrf, get, loggedOut, write } from './http.ts'

export type Role = 'metrics' | 'read' | 'publish' | 'consume' | 'operate' | 'admin'
type Session = {
  readonly name: string
  readonly by: 'token' | 'session' | 'local' | 'host'
  readonly roles: readonly { readonly role: Role; readonly topics: readonly string[] | null }[]
  readonly expiresAt: string | null
  readonly csrf: string | null
}

/** undefined: not known yet. null: nobody; the login is shown over the page. */
export const session = signal<Session | null | undefined>(undefined)

/** The user wants to act with another token: the login is shown over the page, and can be closed again. */
export const isChangingToken = signal(false)
export const changeToken = (): void => {
  isChangingToken.value = true
}

export async function askWho(): Promise<void> {
  const found = await get<Session>('/session').catch(error => {
    if (error?.status === 401) return null
    throw error
  })
  take(found)
}

export async function logIn(token: string): Promise<void> {
  take(await write<Session>('POST', '/session', { token }))
}

export async function logOut(): Promise<void> {
  await write('DELETE', '/session')
  take(null)
}

function take(found: Session | null): void {
  isChangingToken.value = false
  csrf.value = found?.csrf ?? ''
  session.value = found
}

/** If a session ends, the login is shown over the page, and everything stays where it was. */
effect(() => {
  if (loggedOut.value > 0 && session.peek()) take(null)
})

const INCLUDES: { readonly [role in Role]?: readonly Role[] } = {
  admin: ['metrics', 'read', 'publish', 'consume', 'operate', 'admin'],
  operate: ['metrics', 'read', 'operate'],
  read: ['metrics', 'read'],
}

/** Whether the user may do it; without a topic: for all of them. */
export function may(role: Role, topic?: string): boolean {
  const roles = session.value?.roles ?? []
  return roles.some(
    each =>
      (each.role === role || INCLUDES[each.role]?.includes(role)) &&
      (each.topics === null || each.topics.some(prefix => topic?.startsWith(prefix))),
  )
}

/** For the corner of the page. */
export const roleName = computed(() => {
  for (const role of ['admin', 'operate', 'read'] as const) if (may(role)) return role
  return session.value?.roles[0]?.role ?? ''
})
