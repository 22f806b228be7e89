/** `~/.aws/credentials` and `~/.aws/config`, or the files that AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name. */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { S3Credentials } from './sign.ts'

type Environment = { readonly [name: string]: string | undefined }
type Section = { readonly [name: string]: string }

export type Profile = { readonly credentials: S3Credentials | undefined; readonly region: string | undefined }

/** Both files, the first before the second; a missing file or profile has nothing. */
export async function readProfile(name: string, environment: Environment): Promise<Profile> {
  const folder = join(environment.HOME ?? homedir(), '.aws')
  const keys = await sectionOf(environment.AWS_SHARED_CREDENTIALS_FILE ?? join(folder, 'credentials'), [name])
  const titles = name === 'default' ? ['default', 'profile default'] : [`profile ${name}`]
  const settings = await sectionOf(environment.AWS_CONFIG_FILE ?? join(folder, 'config'), titles)
  const { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey, ...rest } = { ...settings, ...keys }
  const credentials = accessKeyId &&
    secretAccessKey && { accessKeyId, secretAccessKey, sessionToken: rest.aws_session_token }
  return { credentials: credentials || undefined, region: rest.region }
}

async function sectionOf(path: string, titles: readonly string[]): Promise<Section> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
  const found: Record<string, string> = {}
  let isWanted = false
  for (const line of text.split(/\r?\n/)) {
    const title = /^\s*\[\s*(.*?)\s*\]/.exec(line)?.[1]
    if (title !== undefined) isWanted = titles.includes(title.replaceAll(/\s+/g, ' '))
    // An indented line belongs to a nested setting.
    const [, name, value] = /^([a-z0-9_]+)\s*=\s*(.*?)\s*$/i.exec(line) ?? []
    if (isWanted && name !== undefined && value !== undefined) found[name.toLowerCase()] = value
  }
  return found
}
