import type { APIGatewayProxyEvent } from 'aws-lambda';

/**
 * Returns the id of a request, which is like no other's. API Gateway gives it as `extendedRequestId`; its `requestId` is what the
 * sender wrote into `X-Amzn-RequestId`, if that is there, and may be another request's.
 */
export const requestIdOf = ({ requestContext }: Pick<APIGatewayProxyEvent, 'requestContext'>): string =>
  requestContext.extendedRequestId ?? requestContext.requestId;
