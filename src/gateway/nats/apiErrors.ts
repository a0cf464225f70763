/*
 * Error codes of the JetStream API (https://github.com/nats-io/nats-server/blob/main/server/errors.json). Only numbers,
 * so that a gateway with SQLite does not load the client of the cluster for them.
 */

/** JetStream is not enabled: for the account, or on the server. */
export const NOT_ENABLED: readonly number[] = [10039, 10076]
/** "JetStream system temporarily unavailable": no leader is elected yet. */
export const NO_LEADER = 10008
/** "no suitable peers for placement": the leader does not know enough nodes yet. */
export const NO_PEERS = 10005
/** The last sequence, of the stream or of the subject, is another one than expected. */
export const WRONG_SEQUENCE: readonly number[] = [10070, 10071]
