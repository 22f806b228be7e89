import type { Area, Mutant } from '../mutant.ts'

const PAGE = 'packages/web/src/page'

const mutants: Mutant[] = [
  {
    name: 'numbers of a message are rounded',
    file: `${PAGE}/messages/exact-json.ts`,
    find: '? rawJSON(context.source)',
    replace: '? value',
    tests: ['web/test/messages'],
  },
  {
    name: 'a tail moves while somebody reads further up',
    file: `${PAGE}/messages/follower.ts`,
    find: 'if (this.isFollowing) {',
    replace: 'if (this.#count > 0) {',
    tests: ['web/test/messages'],
  },
  {
    name: 'a tail keeps every message',
    file: `${PAGE}/messages/follower.ts`,
    find: 'this.#shown = [...this.#shown, ...this.#waiting].slice(-KEPT)',
    replace: 'this.#shown = [...this.#shown, ...this.#waiting]',
    tests: ['web/test/messages'],
  },
  {
    name: 'a tail counts a page twice',
    file: `${PAGE}/messages/follower.ts`,
    find: '      this.#count = 0\n',
    replace: '',
    tests: ['web/test/messages'],
  },
  {
    name: '999 950 is shown as 1000 k',
    file: `${PAGE}/format.ts`,
    find: 'if (Math.abs(value) >= size * 0.9995)',
    replace: 'if (Math.abs(value) >= size)',
    tests: ['web/test/format'],
  },
  {
    name: 'the cell under the pointer moves when zooming',
    file: `${PAGE}/world/camera.ts`,
    find: 'x: camera.x + dx / camera.scale - dx / scale,',
    replace: 'x: camera.x + dx / camera.scale,',
    tests: ['web/test/camera'],
  },
  {
    name: 'a torus ends at its left edge',
    file: `${PAGE}/world/camera.ts`,
    find: '((value % length) + length) % length',
    replace: 'value % length',
    tests: ['web/test/camera'],
  },
]

export const WEB: Area = { name: 'web', mutants }
