import { existsSync } from 'node:fs'
import { type Context, Hono } from 'hono'
import { createCampaignOperations } from './campaigns/campaignOperations.ts'
import type { Campaigns } from './campaigns/campaigns.ts'
import type { Reports } from './campaigns/report.ts'
import { createRest } from './campaigns/rest.ts'
import { createOwnCheck } from './check/ownCheck.ts'
import { type CollectDependencies, createCollect } from './collect/collect.ts'
import type { Quota } from './collect/quota.ts'
import { createCustomerLookup } from './customers/customerLookup.ts'
import type { Customers } from './customers/customers.ts'
import { createDemoShop } from './demoShop.ts'
import { DOCTOR_PATH } from './doctor/answerDoctor.ts'
import type { Forwarding } from './forward/forwarding.ts'
import type { Addresses } from './http/address.ts'
import {
  type Answer,
  answer,
  eventIdOf,
  headersFor,
  JSON_HEADERS,
  refusalAnswer,
  refuse,
  toResponse,
} from './http/answers.ts'
import type { HotPaths } from './http/hotPaths.ts'
import { createShowMetrics } from './http/metricsServer.ts'
import { createPublicFiles } from './http/publicFiles.ts'
import type { RequestEnv } from './http/requestEnv.ts'
import type { RequestHead } from './http/requestHead.ts'
import { TooMany } from './http/semaphore.ts'
import { Unavailable } from './lib/unavailable.ts'
import { version } from './lib/version.ts'
import { createCampaignPages } from './operators/campaignPages.ts'
import { createForwardPages } from './operators/forwardPages.ts'
import { createLive, type LiveLimits } from './operators/live.ts'
import { createOperators } from './operators/operators.ts'
import { PREVIEW_STYLES, pageHeaders } from './operators/pageHeaders.ts'
import { createPeoplePages } from './operators/peoplePages.ts'
import { createProblemPages } from './operators/problemPages.ts'
import type { Sessions } from './operators/sessions.ts'
import { createSetupPages } from './operators/setupPages.ts'
import { createOrderRoutes } from './orders/orderRoutes.ts'
import type { Orders } from './orders/orders.ts'
import type { People } from './people/people.ts'
import type { ProblemRecorder } from './problems/recorder.ts'
import { createGuard } from './rest/guard.ts'
import type { PinnedScripts } from './script/pinnedScripts.ts'
import { createServePinned } from './script/servePinned.ts'
import {
  createServeFile,
  createServeScript,
  refuseScript,
  type ScriptFiles,
} from './script/serveScript.ts'

export type RouteDependencies = Omit<CollectDependencies, 'customers' | 'problems'> & {
  readonly customers: Customers
  readonly pinned: PinnedScripts
  readonly sessions: Sessions
  /** See Data. */
  readonly saved: () => Promise<void>
  readonly addresses: Addresses
  readonly campaigns: Campaigns
  readonly orders: Orders
  readonly quota: Quota
  readonly reports: Reports
  readonly people: People
  readonly forwarding: Forwarding
  readonly problems: ProblemRecorder
  readonly script: ScriptFiles
  /** The gateway's public address, if it is configured. */
  readonly publicUrl: string | undefined
  /** Folder with `live`, `campaigns`, `people`, `forward`, `setup` and `shop`. */
  readonly publicFolder: string
  /** GET /t/doctor, see answerDoctor.ts. */
  readonly answerDoctor: (request: Request, peer: string) => Promise<Response>
  /** Secret of /metrics. Without one the path is 404. */
  readonly metricsToken: string | undefined
  /** A monotonic clock, ms. */
  readonly monotonicNow: () => number
  /** Limits of the live views. */
  readonly live?: LiveLimits | undefined
  /** Whether the demo shop is served. */
  readonly demo: boolean
  /** Why the gateway is not ready. Undefined if it is. */
  readonly findUnready: () => string | undefined
  /** Called with each unexpected error. */
  readonly onError: (error: unknown, route: string) => void
}

type Env = { Bindings: RequestEnv }

type Handler = (
  request: Request,
  peer: string,
  context: Context<Env>,
) => Response | Answer | Promise<Response | Answer>
type Method = 'GET' | 'POST'

/**
 * Whether a path without a route belongs to an operation of the wider service. A path that ends like a report's is a
 * report whose id was not encoded, so its campaign is unknown.
 */
const isForeignOperation = (path: string): boolean =>
  /^\/api\/v1(?:\/[\w.-]+)+$/.test(path) && !path.endsWith('/email/get-report')

/** Browsers cache preflights for a day (Chromium: two hours). */
const PREFLIGHT_MAX_AGE_SECONDS = '86400'

/**
 * All routes of the gateway, one line each. Each answers every method: 405 with Allow for methods that it does not
 * take, and Allow for OPTIONS.
 *
 * @returns The app, the handlers of the hot paths, which do without it, and `close`, which ends the open live views.
 */
export function createRoutes(dependencies: RouteDependencies) {
  const { demo, findUnready, metrics, publicFolder } = dependencies
  const customers = createCustomerLookup(dependencies.customers)
  const collect = createCollect({ ...dependencies, customers })
  const serveScript = createServeScript({ ...dependencies, customers })
  const servePinned = createServePinned({ ...dependencies, customers })
  const operations = createCampaignOperations(dependencies)
  const guarded = createGuard({ ...dependencies, customers })
  const rest = createRest({ ...dependencies, customers, guarded, operations })
  const orderRoutes = createOrderRoutes({ ...dependencies, guarded })
  const operators = createOperators(dependencies)
  const live = createLive({ log: dependencies.log, live: dependencies.live, operators })
  const campaignPages = createCampaignPages({ operations, operators })
  const peoplePages = createPeoplePages({ ...dependencies, operators })
  const forwardPages = createForwardPages({ ...dependencies, operators })
  const listProblems = createProblemPages({ ...dependencies, operators })
  const setupPages = createSetupPages({
    ...dependencies,
    operators,
    checkShop: createOwnCheck(),
  })
  const app = new Hono<Env>()
  app.use('/live/*', pageHeaders())
  app.use('/campaigns/*', pageHeaders(PREVIEW_STYLES))
  app.use('/people/*', pageHeaders())
  app.use('/forward/*', pageHeaders())
  app.use('/setup/*', pageHeaders())

  route('/t/r', { POST: collect.collectOne })
  route('/t/batch', { POST: collect.collectBatch })
  route('/t/j/:key', {
    GET: (request, peer, context) => serveScript(request, peer, context.req.param('key') ?? ''),
  })
  route('/t/j/:key/:file', {
    GET: (request, peer, context) =>
      servePinned(request, peer, context.req.param('key') ?? '', context.req.param('file') ?? ''),
  })
  route('/t/i.js', { GET: createServeFile(dependencies.script.further.get('inspector')) })
  route('/t/p.js', { GET: createServeFile(dependencies.script.further.get('presence')) })
  route('/api/v1/campaigns/list', { POST: rest.list })
  route('/api/v1/campaigns/create', { POST: rest.create })
  route('/api/v1/campaigns/:id/email/get-report', { GET: rest.report })
  route('/api/v1/get-latest-campaign', { GET: rest.latest })
  route('/api/v1/custom_events', { POST: rest.customEvent })
  route('/api/v1/save_order', { POST: orderRoutes.saveOrder })
  route('/api/v1/update_order_status', {
    GET: orderRoutes.updateOrderStatus,
    POST: orderRoutes.updateOrderStatus,
  })
  route('/api/v1/add_subscriber', { POST: orderRoutes.addSubscriber })
  route('/api/v1/remove_subscriber', { POST: orderRoutes.removeSubscriber })
  route('/api/v1/unsubscribed_emails', { GET: orderRoutes.unsubscribed })
  route('/api/v1/product_reviews', { GET: orderRoutes.productReviews })
  route('/api/v1/health', { GET: orderRoutes.health })
  route('/api/v1/problems', { GET: rest.listProblems })
  route('/api/v1/check-api-credentials', { POST: rest.checkApiKeys })
  route('/api/v1/check-credentials', { POST: rest.checkAllKeys })
  route('/live/events', { GET: live.events })
  route('/live/problems', { GET: listProblems })
  route('/live/customers', { GET: operators.customers })
  route('/live/login', { POST: operators.login })
  route('/live/logout', { POST: operators.logout })
  route('/campaigns/data/list', { GET: campaignPages.list })
  route('/campaigns/data/campaign', { GET: campaignPages.campaign })
  route('/campaigns/data/report', { GET: campaignPages.report })
  route('/campaigns/data/create', { POST: campaignPages.create })
  route('/people/data/find', { POST: peoplePages.find })
  route('/people/data/export', { POST: peoplePages.export })
  route('/people/data/erase', { POST: peoplePages.erase })
  route('/people/data/proofs', { GET: peoplePages.proofs })
  route('/forward/data/list', { GET: forwardPages.list })
  route('/forward/data/pause', { POST: forwardPages.pause })
  route('/forward/data/letters', { POST: forwardPages.letters })
  route('/forward/data/preview', { POST: forwardPages.preview })
  route('/forward/data/mend', { POST: forwardPages.mend })
  route('/forward/data/replay', { POST: forwardPages.replay })
  route('/forward/data/discard', { POST: forwardPages.discard })
  route('/setup/data/snippet', { GET: setupPages.snippet })
  route('/setup/data/check', { POST: setupPages.check })
  route(DOCTOR_PATH, { GET: dependencies.answerDoctor })
  route('/livez', { GET: () => answer(200, { status: 'alive' }) })
  route('/readyz', { GET: ready })
  if (dependencies.metricsToken)
    route('/metrics', { GET: createShowMetrics(metrics, dependencies.metricsToken) })
  route('/', { GET: home })
  folder('/live')
  folder('/campaigns')
  folder('/people')
  folder('/forward')
  folder('/setup')
  if (demo) {
    const shop = createDemoShop({ ...dependencies, customers, calls: orderRoutes.calls })
    route('/shop/server/order', { POST: shop.order })
    route('/shop/server/cancel', { POST: shop.cancel })
    route('/shop/server/subscribe', { POST: shop.subscribe })
    route('/shop/server/unsubscribe', { POST: shop.unsubscribe })
    folder('/shop')
  }

  app.notFound((context) => {
    const { path, raw } = context.req
    if (isForeignOperation(path)) return rest.notOffered(raw, context.env.peer, context)
    return refuse({ status: 404, message: 'There is nothing at this address' }, headersFor(path))
  })
  // Every unexpected error is answered here.
  app.onError((error, { req: { raw, path, routePath } }) =>
    toResponse(answerError(error, raw, path, routePath, raw.signal.aborted)),
  )

  function answerError(
    error: unknown,
    request: RequestHead,
    path: string,
    route: string,
    isAborted: boolean,
  ): Answer {
    const headers = headersFor(path)
    const id = eventIdOf(request.url)
    if (error instanceof Unavailable || error instanceof TooMany) {
      const status = error instanceof TooMany ? 429 : 503
      metrics.refused(status)
      const { message, retryAfterSeconds } = error
      if (error.cause) dependencies.onError(error, route)
      const refusal = { status, message, id, retryAfterSeconds }
      return path.startsWith('/t/j/')
        ? refuseScript(refusal, request)
        : refusalAnswer(refusal, headers)
    }
    // Without the event's id, since this is not a verdict on the event.
    if (isAborted)
      return refusalAnswer({ status: 400, message: 'The request was aborted' }, headers)
    dependencies.onError(error, route)
    return refusalAnswer({ status: 500, message: 'Something went wrong here', id }, headers)
  }

  const hotPaths: HotPaths = {
    '/t/r': collect.collectOne,
    '/t/batch': collect.collectBatch,
    '/t/j/:key': serveScript,
    answerError: (error, request, path, isAborted) =>
      answerError(error, request, new URL(request.url).pathname, path, isAborted),
  }

  /** One handler a path: with a second one for other methods, hono would compose a chain at each request. */
  function route(path: string, handlers: Partial<Record<Method, Handler>>): void {
    const methods = [...Object.keys(handlers), ...(handlers.GET ? ['HEAD'] : []), 'OPTIONS']
    const allow = methods.join(', ')
    const { GET, POST } = handlers
    app.all(path, (context) => {
      const { raw } = context.req
      const handler = raw.method === 'POST' ? POST : /^(GET|HEAD)$/.test(raw.method) && GET
      if (handler) return respond(handler(raw, context.env.peer, context))
      return raw.method === 'OPTIONS' ? answerOptions(path, allow) : refuseMethod(path, allow)
    })
  }

  async function respond(given: ReturnType<Handler>): Promise<Response> {
    const answer = await given
    return answer instanceof Response ? answer : toResponse(answer)
  }

  function refuseMethod(path: string, allow: string): Response {
    const headers = { ...headersFor(path), allow }
    return refuse({ status: 405, message: `Expected one of ${allow}` }, headers)
  }

  /** Answers the methods of a path; under /t also the preflights of other pages. */
  function answerOptions(path: string, allow: string): Response {
    const isOpen = 'access-control-allow-origin' in headersFor(path)
    const headers = isOpen
      ? {
          allow,
          'access-control-allow-origin': '*',
          'access-control-allow-methods': allow,
          'access-control-allow-headers': 'content-type',
          'access-control-max-age': PREFLIGHT_MAX_AGE_SECONDS,
        }
      : { allow }
    return new Response(null, { status: 204, headers })
  }

  /** Serves the files of a folder. Browsers revalidate them each time, since they change during an integration. */
  function folder(path: string): void {
    if (!existsSync(publicFolder + path))
      throw new Error(`The pages are missing: ${publicFolder + path}`)
    const find = createPublicFiles(publicFolder)
    // Relative, as the gateway may be below a path of its host.
    app.get(path, ({ req, redirect }) => redirect(`${path.slice(1)}/${new URL(req.url).search}`))
    app.get(`${path}/*`, (context) => find(context.req.path) ?? context.notFound())
    app.all(`${path}/*`, (context) =>
      /^(GET|HEAD)$/.test(context.req.method)
        ? context.notFound()
        : refuseMethod(path, 'GET, HEAD'),
    )
  }

  function ready(): Response {
    const reason = findUnready()
    return reason === undefined
      ? answer(200, { status: 'ready' })
      : refuse({ status: 503, message: reason }, { ...JSON_HEADERS, 'retry-after': '1' })
  }

  function home(): Response {
    return demo
      ? new Response(null, { status: 302, headers: { location: 'shop/' } })
      : answer(200, { name: 'shoptrail', version })
  }

  return { fetch: app.fetch, hotPaths, close: live.close }
}
