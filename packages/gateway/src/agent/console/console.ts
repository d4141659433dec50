/**
 * The console's server side: the built page with its strict headers, and sign-in. The page uses the same REST API as
 * every client. Only it has a session: a cookie that is valid under /api/v1 only.
 */
import type { Tokens } from "../../access/access.ts";
import { named } from "../../named-routes.ts";
import type { Http } from "../http/http.ts";
import {
  cookieName as cookieNameOf,
  HttpAuthentication,
  type SessionStorage,
  Sessions,
} from "../http/http.ts";
import { fileRoutes } from "./files.ts";
import { type InsightDependencies, insightRoutes } from "./insights.ts";
import { Overview, type OverviewDependencies } from "./overview.ts";
import { SignIn, type SignInDependencies } from "./sign-in.ts";

export type ConsoleDependencies = Omit<SignInDependencies, "http" | "cookieName"> &
  OverviewDependencies &
  Omit<InsightDependencies, "overview"> & {
    readonly tokens: Pick<Tokens, "current" | "credentialOf" | "onRevoked">;
    readonly sessionStorage: SessionStorage;
    readonly instanceId: string;
  };

export interface Console {
  readonly authentication: HttpAuthentication;
  /** A link that opens the console and signs in once. */
  link(principalId: string): string;
  /** The routes that need a sign-in. */
  routes(http: Http): void;
}

export async function consoleRoutes(http: Http, dependencies: ConsoleDependencies): Promise<Console> {
  const { clock, events, tokens, authentication } = dependencies;
  const sessions = new Sessions({
    clock,
    storage: dependencies.sessionStorage,
    current: (id) => tokens.current(id),
    credentialOf: (id) => tokens.credentialOf(id),
    onRevoked: (listener) => tokens.onRevoked(listener),
  });
  await sessions.load();
  const cookieName = cookieNameOf(dependencies.instanceId);
  const consoleUrl = () => dependencies.about().url;
  const httpAuthentication = new HttpAuthentication({
    authentication,
    events,
    sessions,
    cookieName,
    consoleUrl,
  });
  const signIn = new SignIn({ ...dependencies, http: httpAuthentication, cookieName });
  const overview = new Overview(dependencies);
  http.decorateRequest("consoleSession", undefined);
  http.addHook("onClose", async () => {
    overview.stop();
    await sessions.stop();
  });
  const register = async (api: unknown) => signIn.routes(api as Http);
  await http.register(named("sign-in", register), { prefix: "/api/v1" });
  fileRoutes(http);
  return {
    authentication: httpAuthentication,
    link: (principalId) => signIn.link(principalId).url,
    routes: (signedIn) => insightRoutes(signedIn, { ...dependencies, overview }),
  };
}
