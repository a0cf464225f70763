/** The only global beyond ECMAScript that the contract uses. Browsers and Node.js have it. */
declare class URL {
  constructor(url: string)
  readonly hostname: string
}
