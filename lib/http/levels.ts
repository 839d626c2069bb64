/** Levels of membership, as numbers that compare. */
export const LEVELS = { member: 1, admin: 8, owner: 15 } as const;
export type MembershipLevel = (typeof LEVELS)[keyof typeof LEVELS];
