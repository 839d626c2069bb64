import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';

/** The one door to customers' addresses. What DNS answers is checked when a connection is made. */
export interface Outbound {
  /** Agents for an HTTP client, through which only allowed addresses can be reached. */
  readonly httpAgent: HttpAgent;
  readonly httpsAgent: HttpsAgent;
}
