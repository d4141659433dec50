/** Arguments of `tendon webhook`. The implementation is loaded only when a subcommand runs. */
import type { Command } from "commander";
import { gatewayOptions, wholeNumber } from "../command-options.ts";

export function addWebhookCommand(program: Command): Command {
  const webhook = program
    .command("webhook")
    .description("Send events to addresses of your own, signed as Standard Webhooks.");
  gatewayOptions(webhook.command("add"))
    .description("Add a webhook. Its secret is shown only once.")
    .argument("<url>", "https address of the receiver, or a host in webhooks.allowHosts")
    .option("--type <type...>", "only these events, such as call.finished or device.* (default: all)")
    .option("--device <device...>", "only events of these devices, by id or alias")
    .option("--tag <tag...>", "only events of devices with these tags")
    .option("--name <name>", "name for people (default: the host)")
    .action(async (url, options) => (await import("./webhook.ts")).addWebhook(url, options));
  gatewayOptions(webhook.command("list"))
    .description("List the webhooks and the state of their receivers.")
    .action(async (options) => (await import("./webhook.ts")).listWebhooks(options));
  gatewayOptions(webhook.command("test"))
    .description("Send a test event now, and print the receiver's answer.")
    .argument("<id|name>", "id of the webhook, or its name if no other webhook has the same")
    .action(async (name, options) => (await import("./webhook.ts")).testWebhook(name, options));
  gatewayOptions(webhook.command("deliveries"))
    .description("List the events of a webhook, newest first, with the last attempt of each.")
    .argument("<id|name>", "id of the webhook, or its name")
    .option("--limit <number>", "maximum number of events", wholeNumber, 50)
    .action(async (name, options) => (await import("./webhook.ts")).listDeliveries(name, options));
  gatewayOptions(webhook.command("replay"))
    .description("Deliver the events since a time again, at most those of the last 24 hours.")
    .argument("<id|name>", "id of the webhook, or its name")
    .requiredOption("--since <time>", "such as 2027-01-31T12:00:00Z")
    .action(async (name, options) => (await import("./webhook.ts")).replayWebhook(name, options));
  gatewayOptions(webhook.command("rotate"))
    .description("Make a new secret. For 24 hours, both secrets sign.")
    .argument("<id|name>", "id of the webhook, or its name")
    .action(async (name, options) => (await import("./webhook.ts")).rotateSecret(name, options));
  gatewayOptions(webhook.command("enable"))
    .description("Enable a webhook. It continues at its stored position.")
    .argument("<id|name>", "id of the webhook, or its name")
    .action(async (name, options) => (await import("./webhook.ts")).setEnabled(name, true, options));
  gatewayOptions(webhook.command("disable"))
    .description("Disable a webhook. Its pending events stay for up to 24 hours.")
    .argument("<id|name>", "id of the webhook, or its name")
    .action(async (name, options) => (await import("./webhook.ts")).setEnabled(name, false, options));
  gatewayOptions(webhook.command("remove"))
    .description("Remove a webhook and its pending events.")
    .argument("<id|name>", "id of the webhook, or its name")
    .action(async (name, options) => (await import("./webhook.ts")).removeWebhook(name, options));
  return webhook;
}
