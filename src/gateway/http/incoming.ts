import { IncomingMessage } from 'node:http'

/**
 * A request that stops the HTTP parser if its connection was destroyed.
 *
 * node parses everything that one read of a socket brought, even after the socket was destroyed: up to 2,400 requests
 * of 6 kB each, which stay in memory until the event loop has read every other socket. Only an upgrade stops the
 * parser, so a request of a destroyed socket pretends to be one.
 */
export class Incoming extends IncomingMessage {
  #isUpgrade = false

  // An accessor, since node sets the parser's result before it reads it.
  get upgrade(): boolean {
    return this.#isUpgrade || this.socket.destroyed
  }

  set upgrade(isUpgrade: boolean) {
    // The constructor of IncomingMessage sets it before the private field exists.
    if (#isUpgrade in this) this.#isUpgrade = isUpgrade
  }
}
