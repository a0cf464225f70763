import type { CopyFault } from '../sqlite/copyComparison.ts'

/** A change that operators of a cluster should know of. */
export type ClusterNews =
  /** The connection to the cluster is lost, or there again. It is made again for ever. */
  | { readonly what: 'disconnected' | 'connected' }
  /**
   * Events of the partition are refused at once, since the cluster does not acknowledge them, or they are accepted
   * again.
   */
  | { readonly what: 'closed_off' | 'writable'; readonly partition: number }
  /** This process has begun to hold the partition. */
  | { readonly what: 'held'; readonly partition: number; readonly isTakeOver: boolean }
  /** This process gives the partition up: for a follower that has fewer, since its tasks can not start, or at its end. */
  | { readonly what: 'given_up'; readonly partition: number }
  /** Another process has taken the partition over, since this one did not renew its lease in time. */
  | { readonly what: 'lost'; readonly partition: number }
  /** The copy of this process has something else at a sequence than the stream. */
  | {
      readonly what: 'differs'
      readonly partition: number
      readonly seq: number
      readonly fault: CopyFault
    }
  /** The copy of this process does not differ from the stream any more where it has. */
  | { readonly what: 'same_again'; readonly partition: number }

/** A line of the log. */
export type NewsLine = {
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
  readonly partition?: number
  /** A sequence of the partition's stream. */
  readonly seq?: number
}

/** How a copy differs from its stream, in words. */
export const COPY_FAULTS: Readonly<Record<CopyFault, string>> = {
  lacks: 'lacks an event that its stream has',
  other: 'has another event than its stream has at the same sequence',
}

export function newsLine(news: ClusterNews): NewsLine {
  switch (news.what) {
    case 'disconnected':
      return {
        level: 'warn',
        message:
          'The connection to the cluster is lost. Events are refused with 503 until it is there again',
      }
    case 'connected':
      return { level: 'info', message: 'The connection to the cluster is there again' }
    case 'closed_off':
      return {
        level: 'warn',
        partition: news.partition,
        message:
          'The cluster does not acknowledge events of a partition: they are refused with 503. Its stream may have no quorum, or was deleted: nats stream report',
      }
    case 'writable':
      return {
        level: 'info',
        partition: news.partition,
        message: 'The cluster acknowledges events of the partition again',
      }
    case 'held':
      return {
        level: 'info',
        partition: news.partition,
        message: news.isTakeOver
          ? 'A partition is taken over: the lease of the follower that held it was over'
          : 'A partition is held: its reports and its forwarding are made here',
      }
    case 'given_up':
      return {
        level: 'info',
        partition: news.partition,
        message: 'A partition is given up, so that another follower can hold it',
      }
    case 'lost':
      return {
        level: 'warn',
        partition: news.partition,
        message:
          'A partition is held by another follower, since its lease was not renewed in time. This machine or the cluster is slow',
      }
    case 'differs':
      return {
        level: 'error',
        partition: news.partition,
        seq: news.seq,
        message: `The copy of a partition ${COPY_FAULTS[news.fault]}. Reports, forwarding and persons may be wrong. What to do: docs/scale.md, "When a copy differs"`,
      }
    case 'same_again':
      return {
        level: 'info',
        partition: news.partition,
        message: 'The copy of a partition does not differ from its stream any more',
      }
  }
}
