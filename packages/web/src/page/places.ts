/** Addresses of the page. */
export const topicAddress = (topic: string): string => `/topics/${encodeURIComponent(topic)}`
/** `-` stands for the nameless group of a queue. */
export const groupAddress = (topic: string, group: string): string =>
  `${topicAddress(topic)}/groups/${group === '' ? '-' : encodeURIComponent(group)}`
export const runAddress = (runId: string): string => `/runs/${runId}`
