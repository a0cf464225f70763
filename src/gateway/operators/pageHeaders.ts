import { secureHeaders } from 'hono/secure-headers'

const SELF = ["'self'"]
const NONE = ["'none'"]

/**
 * Sets the security headers of an operators' page and its data. The page may load its own files and call its own
 * gateway, nothing else.
 *
 * @param styleSrc Sources of styles. Default: the page's own files.
 */
export const pageHeaders = (styleSrc: string[] = SELF) =>
  secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: NONE,
      scriptSrc: SELF,
      styleSrc,
      imgSrc: [...SELF, 'data:'],
      fontSrc: SELF,
      connectSrc: SELF,
      formAction: SELF,
      baseUri: NONE,
      frameAncestors: NONE,
    },
    xFrameOptions: 'DENY',
    // Only the operator knows whether all of this host is reached by TLS.
    strictTransportSecurity: false,
    // It applies to a whole origin, and the demo shop of the same origin does not send it.
    originAgentCluster: false,
  })

/**
 * Sources of styles for the campaigns page. A campaign's HTML has its styles inline, and the frame that previews it
 * inherits the policy of the page.
 */
export const PREVIEW_STYLES = [...SELF, "'unsafe-inline'"]
