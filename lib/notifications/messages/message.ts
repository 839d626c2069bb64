/** What a person or a program is told, whatever carries it. */
import type { NumberTable } from '../../charts/chart.ts';
import { counted } from '../../charts/describe/describer.ts';
import { jobOps } from '../../jobs/job.ts';
import type { Op, Value } from '../../ports/table/table.ts';
import type { NotifierKind } from '../notifier.ts';

/** Where a message goes. The address of a webhook is read when it is sent, of whose message it is. */
export type Target =
  | { readonly type: 'webhook' | 'slack' }
  /** A member, as long as they are one. */
  | { readonly type: 'member'; readonly user: string }
  | { readonly type: 'email'; readonly address: string };

/** The numbers of an insight. */
export interface ShownInsight {
  readonly name: string;
  readonly link: string | null;
  /** What its picture looks like, in a sentence; or why there are no numbers. */
  readonly summary: string;
  readonly table: NumberTable;
  /** How many more rows and columns there are. */
  readonly moreRows: number;
  readonly moreColumns: number;
  /** Its chart as `packedFigure` keeps it, from which a mail's picture is made; absent: there is none. */
  readonly figure?: string;
}

/** Returns what a table leaves out, in words: `10 more rows, 1 more column`; an empty text: nothing. */
export const leftOutText = ({ moreRows, moreColumns }: Pick<ShownInsight, 'moreRows' | 'moreColumns'>): string =>
  [
    ...(moreRows > 0 ? [counted(moreRows, 'more row', 'more rows')] : []),
    ...(moreColumns > 0 ? [counted(moreColumns, 'more column', 'more columns')] : []),
  ].join(', ');

export interface Message {
  readonly organization: string;
  readonly project: number;
  /** Whose message it is. */
  readonly by: { readonly kind: NotifierKind; readonly id: string | number };
  readonly target: Target;
  /** Of a webhook: what happened. */
  readonly type: 'alert.firing' | 'subscription.due';
  /** When it happened, milliseconds since 1970. */
  readonly at: number;
  readonly title: string;
  readonly lines: readonly string[];
  /** To what it is about; null: the service does not know its own address. */
  readonly link: string | null;
  readonly insights: readonly ShownInsight[];
  /** Of a webhook: the same for programs. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** What it comes to when a notifier is due: what is set of it, and what is told. */
export interface Outcome {
  readonly set: Readonly<Record<string, Value>>;
  readonly messages: readonly Message[];
}

/** Returns the op that lets a message be sent, for the transaction of what it tells of. `id`: one for each target. */
export const messageOps = (id: string, message: Message): Op[] => jobOps('message', id, message.at, message);
