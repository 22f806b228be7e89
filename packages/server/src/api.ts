/** What every path of this version begins with. */
export const API = '/api/v1'
