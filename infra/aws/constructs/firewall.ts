import { Aws } from 'aws-cdk-lib';
import type { IRestApi } from 'aws-cdk-lib/aws-apigateway';
import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';
import { CORS_OF_ALL, SDK_TEMPLATES } from '../../../lib/capture/answers.ts';
import { alternativesOf } from '../../../lib/capture/path-pattern.ts';
import { gatewayResponse } from '../../../lib/http/gateway-responses.ts';
import type { Stage } from '../stages.ts';

interface FirewallProps {
  readonly stage: Stage;
  /** In a minute. */
  readonly requestsPerKey: number;
  readonly api: IRestApi;
}

/** One address may send as many requests as so many keys that call all the time, with whatever keys or none. */
const KEYS_OF_AN_ADDRESS = 10;
/** Events that an address may send: as many requests in a minute as one machine takes of it, a thousand a second. */
const SDK_REQUESTS_OF_AN_ADDRESS = 60_000;
/** Who was held back is let through again within about this time, in seconds: the rule looks every half minute. */
const RETRY_AFTER = '30';

/** What an SDK is told: a 503 in plain text, as `capture` says it, which a page may read whoever it is of. */
const SDK_THROTTLED = `This address sends too many requests. Try again in ${RETRY_AFTER} s.`;
const THROTTLED = gatewayResponse('throttled').template;
const REFUSED = gatewayResponse('permission_denied', { detail: 'Requests from this address are refused.' }).template;

/** The paths of SDKs, below the address of the stage, or of a domain of its own. */
const sdkPaths = (stage: string): CfnWebACL.StatementProperty => ({
  regexMatchStatement: {
    regexString: `^(/${stage})?(${alternativesOf(SDK_TEMPLATES, '[^/]+')})/?$`,
    fieldToMatch: { uriPath: {} },
    textTransformations: [{ priority: 0, type: 'NONE' }],
  },
});

const visible = (metricName: string): CfnWebACL.VisibilityConfigProperty => ({
  metricName,
  cloudWatchMetricsEnabled: true,
  // Samples would hold whole requests, keys included.
  sampledRequestsEnabled: false,
});

/** Holds back for a while, with a body of those below. */
const heldBack = (
  responseCode: number,
  customResponseBodyKey: string,
  headers: Readonly<Record<string, string>> = {},
): CfnWebACL.RuleActionProperty => {
  const named = Object.entries({ 'Retry-After': RETRY_AFTER, ...headers });
  const responseHeaders = named.map(([name, value]) => ({ name, value }));
  return { block: { customResponse: { responseCode, customResponseBodyKey, responseHeaders } } };
};

/**
 * The web firewall of a stage: how often one key and one address may call, how much an address may send, which it counts
 * by itself, and addresses that are known for bad.
 * Nothing looks into requests, for a query or a text tile may look like an attack. What it refuses has the API's own
 * error shape.
 */
export class Firewall extends Construct {
  constructor(scope: Construct, id: string, { stage, requestsPerKey, api }: FirewallProps) {
    super(scope, id);
    // Rules count in five minutes.
    const ofKey = 5 * requestsPerKey;
    const refused = { block: { customResponse: { responseCode: 403, customResponseBodyKey: 'refused' } } };
    const throttled = heldBack(429, 'throttled');
    const isSdk = sdkPaths(stage.name);
    const isNoSdk = { notStatement: { statement: isSdk } };
    const acl = new CfnWebACL(this, 'Acl', {
      name: `workspaces-${stage.name}`,
      scope: 'REGIONAL',
      defaultAction: { allow: {} },
      visibilityConfig: visible('firewall'),
      customResponseBodies: {
        throttled: { contentType: 'APPLICATION_JSON', content: THROTTLED },
        'sdk-throttled': { contentType: 'TEXT_PLAIN', content: SDK_THROTTLED },
        refused: { contentType: 'APPLICATION_JSON', content: REFUSED },
      },
      rules: [
        {
          name: 'rate-of-a-key',
          priority: 0,
          visibilityConfig: visible('rate-of-a-key'),
          action: throttled,
          statement: {
            rateBasedStatement: {
              limit: ofKey,
              evaluationWindowSec: 300,
              aggregateKeyType: 'CUSTOM_KEYS',
              // Several blanks or tabs between the word and the key are one blank, as they are to the authorizer.
              customKeys: [
                {
                  header: {
                    name: 'Authorization',
                    textTransformations: [{ priority: 0, type: 'COMPRESS_WHITE_SPACE' }],
                  },
                },
              ],
              // What SDKs have there is the token of a project, of which all its visitors have the same.
              scopeDownStatement: isNoSdk,
            },
          },
        },
        {
          name: 'rate-of-an-address',
          priority: 1,
          visibilityConfig: visible('rate-of-an-address'),
          action: throttled,
          statement: {
            rateBasedStatement: {
              limit: KEYS_OF_AN_ADDRESS * ofKey,
              evaluationWindowSec: 300,
              aggregateKeyType: 'IP',
              scopeDownStatement: isNoSdk,
            },
          },
        },
        {
          name: 'events-of-an-address',
          priority: 2,
          visibilityConfig: visible('events-of-an-address'),
          action: heldBack(503, 'sdk-throttled', CORS_OF_ALL),
          statement: {
            rateBasedStatement: {
              limit: SDK_REQUESTS_OF_AN_ADDRESS,
              evaluationWindowSec: 60,
              aggregateKeyType: 'IP',
              scopeDownStatement: isSdk,
            },
          },
        },
        {
          name: 'reputation',
          priority: 3,
          visibilityConfig: visible('reputation'),
          overrideAction: { none: {} },
          statement: {
            managedRuleGroupStatement: {
              vendorName: 'AWS',
              name: 'AWSManagedRulesAmazonIpReputationList',
              ruleActionOverrides: ['AWSManagedIPReputationList', 'AWSManagedReconnaissanceList'].map((name) => ({
                name,
                actionToUse: refused,
              })),
            },
          },
        },
      ],
    });
    new CfnWebACLAssociation(this, 'Association', {
      resourceArn: `arn:${Aws.PARTITION}:apigateway:${Aws.REGION}::/restapis/${api.restApiId}/stages/${stage.name}`,
      webAclArn: acl.attrArn,
    }).node.addDependency(api.deploymentStage);
  }
}
