/** For tests whose warnings are expected. */
export const silent = { debug() {}, info() {}, warn() {}, error() {} }
