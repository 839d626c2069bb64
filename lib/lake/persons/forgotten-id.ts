import { hash } from 'node:crypto';

/** Returns by what a distinct_id that is forgotten is known again: its SHA-256. */
export const forgottenId = (distinctId: string): string => hash('sha256', distinctId);
