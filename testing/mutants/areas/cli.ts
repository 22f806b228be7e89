import type { Area, Mutant } from '../mutant.ts'

const CLI = 'packages/cli/src'

const mutants: Mutant[] = [
  {
    name: 'a destructive command runs without confirmation',
    file: `${CLI}/confirm.ts`,
    find: 'if (!process.stdin.isTTY || !process.stderr.isTTY) throw new UnconfirmedError(what)',
    replace: 'if (!process.stdin.isTTY || !process.stderr.isTTY) return',
    tests: ['cli/test/operating', 'cli/test/topics'],
  },
  {
    name: 'a password in an address is shown',
    file: `${CLI}/redact.ts`,
    find: "'$1…@')",
    replace: "'$&')",
    tests: ['cli/test/security', 'cli/test/usage'],
  },
  {
    name: 'a password in a parameter is shown',
    file: `${CLI}/redact.ts`,
    find: "(?:ssl)?password=)[^&\\s'\"]*/gi, '$1…')",
    replace: "(?:ssl)?password=)[^&\\s'\"]*/gi, '$&')",
    tests: ['cli/test/security', 'cli/test/usage'],
  },
  {
    name: 'bidirectional overrides reach the terminal',
    file: `${CLI}/output/visible.ts`,
    find: '/[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]/gu',
    replace: '/[\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}]/gu',
    tests: ['cli/test/visible'],
  },
  {
    name: 'an invalid command line exits as a failure',
    file: `${CLI}/exit-codes.ts`,
    find: 'usage: 2,',
    replace: 'usage: 1,',
    tests: ['cli/test/usage'],
  },
]

export const COMMAND_LINE: Area = { name: 'cli', mutants }
