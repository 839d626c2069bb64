/**
 * What a request in a web server's log tells beyond its text, under the names that posthog-js gives it: the path, where
 * the visitor came from, what they browse with, and whether it was a page that somebody looked at.
 */
import { parse } from 'bowser';
import { isbot } from 'isbot';

/** What the address of a request tells of the campaign that it came by, each if the address says it. */
interface CampaignProperties {
  readonly utm_source?: string | undefined;
  readonly utm_medium?: string | undefined;
  readonly utm_campaign?: string | undefined;
  readonly utm_content?: string | undefined;
  readonly utm_term?: string | undefined;
}

interface TargetProperties extends CampaignProperties {
  readonly $pathname: string;
}

/** What an agent tells. Of bots only that they are. */
interface AgentProperties {
  readonly $browser_type: 'bot' | 'browser';
  readonly $browser?: string;
  readonly $browser_version?: number;
  readonly $os?: string;
  readonly $device_type?: 'Desktop' | 'Mobile' | 'Tablet';
}

/** Files that a page needs, or that a program asks for by itself: nobody looks at one as at a page. */
const ASSET =
  /\.(?:avif|bmp|css|cur|eot|gif|ico|jpe?g|m?js|map|mp[34]|m4a|ogg|otf|png|svg|swf|tiff?|ttf|wasm|wav|webm|webmanifest|webp|woff2?|xsl)$|\/robots\.txt$/i;

/** Whether a path names an asset: a style, script, picture, font, sound or film, or what programs ask for. */
export const isAsset = (path: string): boolean => ASSET.test(path);

/** How a target begins that is a whole address. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/** Returns what the target of a request tells: a path with a query, or a whole address. Never throws. */
export function targetProperties(target: string): TargetProperties {
  const [, path = '', query = ''] = /^([^?#]*)\??([^#]*)/.exec(target.replace(ORIGIN, '')) ?? [];
  const $pathname = path === '' ? '/' : path;
  return query.includes('utm_') ? { $pathname, ...campaignProperties(query) } : { $pathname };
}

function campaignProperties(query: string): CampaignProperties {
  const named = query.split('&').filter((pair) => /^utm_\w+=/.test(pair));
  // Of what has a value alone: it takes minutes for a megabyte of names that have none.
  const parameters = new URLSearchParams(named.join('&'));
  const parameter = (name: string): string | undefined => parameters.get(name) || undefined;
  return {
    utm_source: parameter('utm_source'),
    utm_medium: parameter('utm_medium'),
    utm_campaign: parameter('utm_campaign'),
    utm_content: parameter('utm_content'),
    utm_term: parameter('utm_term'),
  };
}

/** Returns the host of a referrer, as posthog-js names it; undefined when it is no address. */
export function referringDomain(referrer: string): string | undefined {
  return URL.canParse(referrer) ? new URL(referrer).host || undefined : undefined;
}

/** Where the parser's name for a thing is not that of posthog-js. */
const BROWSERS: Readonly<Record<string, string>> = {
  'Android Browser': 'Android Mobile',
  'Samsung Internet for Android': 'Samsung Internet',
};
const BROWSERS_OF_IOS: Readonly<Record<string, string>> = {
  Chrome: 'Chrome iOS',
  Firefox: 'Firefox iOS',
  Safari: 'Mobile Safari',
};
const SYSTEMS: Readonly<Record<string, string>> = { macOS: 'Mac OS X' };
const DEVICES: Readonly<Record<string, 'Desktop' | 'Mobile' | 'Tablet'>> = {
  desktop: 'Desktop',
  mobile: 'Mobile',
  tablet: 'Tablet',
};
/** Systems of which the parser tells no device. */
const DESKTOP_SYSTEMS = new Set(['Chrome OS', 'Linux', 'Windows', 'macOS']);

/** Returns what an agent (not empty) tells. Never throws. */
export function agentProperties(agent: string): AgentProperties {
  if (isbot(agent)) return { $browser_type: 'bot' };
  const { browser, os, platform } = parse(agent);
  const device = DEVICES[platform.type ?? ''] ?? (DESKTOP_SYSTEMS.has(os.name ?? '') ? 'Desktop' : undefined);
  const version = Number.parseFloat(browser.version ?? '');
  const found = browser.name || undefined;
  const name = (os.name === 'iOS' && BROWSERS_OF_IOS[found ?? '']) || (BROWSERS[found ?? ''] ?? found);
  const system = SYSTEMS[os.name ?? ''] ?? (os.name || undefined);
  return {
    $browser_type: 'browser',
    ...(name === undefined ? {} : { $browser: name }),
    ...(Number.isNaN(version) ? {} : { $browser_version: version }),
    ...(system === undefined ? {} : { $os: system }),
    ...(device === undefined ? {} : { $device_type: device }),
  };
}
