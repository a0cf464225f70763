/** The one web-standard class the contract uses; every runtime it runs in has it. */
declare class URL {
  constructor(url: string)
  readonly hostname: string
}
