/** Arguments of `tendon token`. The implementation is loaded only when a subcommand runs. */
import type { Command } from "commander";
import { gatewayOptions } from "../command-options.ts";

export function addTokenCommand(program: Command): Command {
  const token = program.command("token").description("Create, list and revoke tokens.");
  gatewayOptions(token.command("create"))
    .description("Create a token. It is shown only once.")
    .argument("<name>", "name of the program, agent or person it is for")
    .option("--scope <scope...>", "read, call, call:user, provision, endpoint, admin (default read call)")
    .option("--endpoint", "for the MCP endpoint of this gateway: the scopes endpoint, read and call")
    .option("--device <id...>", "only these devices")
    .option("--tag <tag...>", "only devices with these tags")
    .option("--expires <time>", "expiry date, such as 2027-01-31")
    .action(async (name, options) => (await import("./token.ts")).createToken(name, options));
  gatewayOptions(token.command("list"))
    .description("List the tokens, without their secrets.")
    .action(async (options) => (await import("./token.ts")).listTokens(options));
  gatewayOptions(token.command("revoke"))
    .description("Revoke a token and close its open connections.")
    .argument("<id|name>", "id of the token, or its name if no other token has the same")
    .action(async (name, options) => (await import("./token.ts")).revokeToken(name, options));
  return token;
}
