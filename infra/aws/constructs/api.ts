import { Aws, RemovalPolicy, Validations } from 'aws-cdk-lib';
import {
  AccessLogFormat,
  ApiDefinition,
  DomainName,
  EndpointType,
  type IRestApi,
  LogGroupLogDestination,
  MethodLoggingLevel,
  SecurityPolicy,
  SpecRestApi,
} from 'aws-cdk-lib/aws-apigateway';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { allowedMethods } from '../../../lib/api/methods.ts';
import { rowFor, templates } from '../../../lib/api/routes.ts';
import { MIB, SECOND_MS } from '../../../lib/basics/units.ts';
import { BUSY_SDK_TEMPLATES, CORS_OF_ALL, SDK_TEMPLATES } from '../../../lib/capture/answers.ts';
import {
  GATEWAY_RESPONSES,
  type GatewayResponse,
  type GatewayResponseType,
} from '../../../lib/http/gateway-responses.ts';
import { isDefaultAddressClosed, type StageOptions } from '../options.ts';
import type { Stage, Throttle } from '../stages.ts';

/** How long the gateway keeps an authorizer's answer, in seconds. A revoked key works for that long. */
const AUTHORIZER_TTL_SECONDS = 60;
/** The longest that API Gateway waits for a function. */
const INTEGRATION_TIMEOUT_MS = 29 * SECOND_MS;
/**
 * Bodies of requests and answers of so many bytes the gateway unpacks, and packs: the most that can be said, and as much as
 * it takes. Unsaid, it unpacks each request, by the codings that it knows, and refuses others:
 * https://docs.aws.amazon.com/apigateway/latest/api/API_RestApi.html
 */
const UNPACKED_FROM_BYTES = 10 * MIB;
/** Name of the security scheme in the definition. */
const KEY = 'key';

interface ApiProps {
  readonly stage: Stage;
  /** An address of its own, at whose root the API is served. */
  readonly domain: StageOptions['domain'];
  /** The function of a handler, by its name. */
  readonly functionNamed: (name: string) => IFunction;
}

/**
 * The REST API, as one definition made from the rows: a method for each, `HEAD` beside `GET`, any other method of a
 * known path to `method-not-allowed`.
 */
export class Api extends Construct {
  readonly url: string;
  /** The address that it has without one of its own, without a `/` at its end. */
  readonly defaultUrl: string;
  readonly name: string;
  readonly restApi: IRestApi;
  /** Where the DNS record of the API's own address must point. */
  readonly domainTarget: string | undefined;

  constructor(scope: Construct, id: string, { stage, domain, functionNamed }: ApiProps) {
    super(scope, id);
    this.name = `workspaces-${stage.name}`;
    const called = new Map<string, IFunction>();
    const call = (name: string): string => {
      const found = functionNamed(name);
      called.set(name, found);
      return `arn:${Aws.PARTITION}:apigateway:${Aws.REGION}:lambda:path/2015-03-31/functions/${found.functionArn}/invocations`;
    };
    // What a deployment has before its own address would be missed at the other one; what is the stage's own, its limits and
    // its firewall, stands before both.
    const isClosed = isDefaultAddressClosed({ domain });
    const definition = {
      openapi: '3.0.1',
      info: { title: this.name, version: '1' },
      ...(isClosed
        ? { servers: [{ 'x-amazon-apigateway-endpoint-configuration': { disableExecuteApiEndpoint: true } }] }
        : {}),
      // What SDKs send is packed, whatever its content type says; as text it would not arrive whole.
      'x-amazon-apigateway-binary-media-types': ['*/*'],
      'x-amazon-apigateway-minimum-compression-size': UNPACKED_FROM_BYTES,
      paths: Object.fromEntries([
        ...templates.map((path) => [path, methodsOf(path, call)] as const),
        ...SDK_TEMPLATES.map((path) => [path, captureOf(path, call)] as const),
      ]),
      components: {
        securitySchemes: {
          [KEY]: {
            type: 'apiKey',
            name: 'Authorization',
            in: 'header',
            'x-amazon-apigateway-authtype': 'custom',
            'x-amazon-apigateway-authorizer': {
              type: 'request',
              // The answer holds for one header on one method of one path template.
              identitySource: 'method.request.header.Authorization, context.httpMethod, context.resourcePath',
              authorizerUri: call('authorizer'),
              authorizerResultTtlInSeconds: AUTHORIZER_TTL_SECONDS,
            },
          },
        },
      },
      'x-amazon-apigateway-gateway-responses': Object.fromEntries(
        Object.entries<GatewayResponse>(GATEWAY_RESPONSES).map(([type, response]) => [
          type,
          gatewayResponse(MET_BY_SDKS.includes(type) ? forSdks(response) : response),
        ]),
      ),
    };
    const accessLog = new LogGroup(this, 'AccessLog', {
      retention: stage.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const api = new SpecRestApi(this, 'Api', {
      restApiName: this.name,
      apiDefinition: ApiDefinition.fromInline(definition),
      endpointTypes: [EndpointType.REGIONAL],
      disableExecuteApiEndpoint: isClosed,
      cloudWatchRole: true,
      cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN,
      deployOptions: {
        stageName: stage.name,
        ...limits(stage.throttling.other),
        // What is said for all methods is said again: one that has settings of its own need not have it.
        methodOptions: Object.fromEntries(
          BUSY_SDK_TEMPLATES.map((path) => [`${path}/POST`, { ...limits(stage.throttling.busy), ...LOGGED }]),
        ),
        tracingEnabled: true,
        // Those of the whole stage, which alarms and dashboard read, are always there and cost nothing. These would be five
        // more for each method that is called, at 0.30 a month each; the access log tells methods apart.
        // https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-metrics-and-dimensions.html
        metricsEnabled: false,
        ...LOGGED,
        accessLogDestination: new LogGroupLogDestination(accessLog),
        accessLogFormat: AccessLogFormat.custom(JSON.stringify(ACCESS_LOG)),
      },
    });
    // API Gateway writes what goes wrong to a group of this name, which it would make by itself, to be kept for good.
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-logging.html
    const executionLog = new LogGroup(this, 'ExecutionLog', {
      logGroupName: `API-Gateway-Execution-Logs_${api.restApiId}/${stage.name}`,
      retention: stage.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    api.deploymentStage.node.addDependency(executionLog);
    for (const found of called.values()) {
      found.addPermission('Api', {
        principal: new ServicePrincipal('apigateway.amazonaws.com'),
        sourceArn: `arn:${Aws.PARTITION}:execute-api:${Aws.REGION}:${Aws.ACCOUNT_ID}:${api.restApiId}/*`,
      });
    }
    this.restApi = api as IRestApi;
    this.defaultUrl = `https://${api.restApiId}.execute-api.${Aws.REGION}.${Aws.URL_SUFFIX}/${stage.name}`;
    if (domain === undefined) {
      this.url = api.url;
    } else {
      const own = new DomainName(this, 'Domain', {
        domainName: domain.name,
        certificate: Certificate.fromCertificateArn(this, 'Certificate', domain.certificateArn),
        endpointType: EndpointType.REGIONAL,
        securityPolicy: SecurityPolicy.TLS_1_2,
        mapping: this.restApi,
      });
      this.url = `https://${domain.name}/`;
      this.domainTarget = own.domainNameAliasDomainName;
    }
    const explained = {
      APIG2: 'The functions check every request, and answer in the API’s own error shape.',
      ...(stage.hasFirewall ? {} : { APIG3: 'Throttled by the stage; a web firewall is for the production stage.' }),
      APIG4: 'Public rows are public by declaration; every other method has the authorizer.',
      COG4: 'Callers have personal API keys, which a Lambda authorizer knows; there is no user pool.',
      'IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]':
        'The account-wide role by which API Gateway writes its logs is the one that AWS prescribes.',
    };
    const findings = Object.entries(explained).map(([rule, reason]) => ({ id: `AwsSolutions-${rule}`, reason }));
    Validations.of(api).acknowledge(...findings);
  }
}

/** What the gateway writes to its log of errors; never bodies. */
const LOGGED = { loggingLevel: MethodLoggingLevel.ERROR, dataTraceEnabled: false };

const limits = ({ rate, burst }: Throttle) => ({ throttlingRateLimit: rate, throttlingBurstLimit: burst });

/** One line for each request, without path, query and headers: they may hold what is secret. */
const ACCESS_LOG = {
  time: '$context.requestTime',
  // The sender may choose it; the extended one is the id of the service's own lines.
  requestId: '$context.requestId',
  extendedRequestId: '$context.extendedRequestId',
  host: '$context.domainName',
  method: '$context.httpMethod',
  resource: '$context.resourcePath',
  status: '$context.status',
  length: '$context.responseLength',
  ms: '$context.responseLatency',
  integrationMs: '$context.integrationLatency',
  authorizerMs: '$context.authorizer.latency',
  principal: '$context.authorizer.principalId',
  ip: '$context.identity.sourceIp',
  error: '$context.error.responseType',
};

/** A method that a function answers, with the authorizer before it unless it is public. */
const method = (uri: string, isPublic: boolean) => ({
  ...(isPublic ? {} : { security: [{ [KEY]: [] }] }),
  'x-amazon-apigateway-integration': {
    type: 'aws_proxy',
    httpMethod: 'POST',
    uri,
    timeoutInMillis: INTEGRATION_TIMEOUT_MS,
  },
});

/** The names in a path, as the definition wants them. */
function parametersOf(path: string) {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  if (names.length === 0) return {};
  return { parameters: names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })) };
}

/** Whatever an SDK asks at its paths, one function answers: its requests have no key, but the token of a project. */
const captureOf = (path: string, call: (name: string) => string) => ({
  ...parametersOf(path),
  'x-amazon-apigateway-any-method': method(call('capture'), true),
});

function methodsOf(path: string, call: (name: string) => string) {
  const rows = allowedMethods(path).flatMap((verb) => {
    const row = rowFor(verb, path);
    return row === undefined ? [] : [[verb.toLowerCase(), method(call(row.handler), row.scope === 'public')] as const];
  });
  return {
    ...parametersOf(path),
    ...Object.fromEntries(rows),
    'x-amazon-apigateway-any-method': method(call('method-not-allowed'), false),
  };
}

/**
 * Answers of the gateway itself that SDKs meet, and pages may read; they cannot differ by path. The throttle's 429 is none
 * of them: posthog-js drops at once what it reads a 429 for, and tries three times what it cannot read.
 */
const MET_BY_SDKS: readonly string[] = [
  'REQUEST_TOO_LARGE',
  'INTEGRATION_TIMEOUT',
  'INTEGRATION_FAILURE',
  'API_CONFIGURATION_ERROR',
  'DEFAULT_5XX',
] satisfies GatewayResponseType[];

/** As `capture` answers: what a page can read posthog-js sends ten times. */
const forSdks = (response: GatewayResponse): GatewayResponse => ({
  ...response,
  headers: { ...response.headers, ...CORS_OF_ALL },
});

function gatewayResponse({ status, headers, template }: GatewayResponse) {
  const named = Object.entries(headers).map(([name, value]) => [`gatewayresponse.header.${name}`, `'${value}'`]);
  return {
    ...(status === null ? {} : { statusCode: String(status) }),
    ...(named.length === 0 ? {} : { responseParameters: Object.fromEntries(named) }),
    responseTemplates: { 'application/json': template },
  };
}
