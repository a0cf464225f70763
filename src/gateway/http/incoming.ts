import { IncomingMessage } from 'node:http'

/**
 * A request whose connection has not been destroyed meanwhile.
 *
 * node parses everything that one read of a socket brought, even after the socket was destroyed: up to 2,400
 * requests of 6 kB each, and all of them stay in memory until the loop has read every other socket too. An upgrade
 * is the one kind of request that ends the parsing, so a request of a destroyed socket looks like one.
 */
export class Incoming extends IncomingMessage {
  #isUpgrade = false

  // An accessor, since node sets what the parser found before it looks at it.
  get upgrade(): boolean {
    return this.#isUpgrade || this.socket.destroyed
  }

  set upgrade(isUpgrade: boolean) {
    // The constructor of IncomingMessage sets it before there are fields.
    if (#isUpgrade in this) this.#isUpgrade = isUpgrade
  }
}
