/** Prefix of every path of this version. */
export const API = '/api/v1'
