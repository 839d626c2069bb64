import { captureEndpoint } from '../lib/capture/endpoint.ts';

/** Takes what SDKs send. */
export const handler = captureEndpoint;
