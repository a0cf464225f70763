import { settingsHelp } from './customers/settingsHelp.ts'
import { FORWARD_COMMANDS_HELP, FORWARD_OPTIONS_HELP } from './forwardCommand.ts'
import { version } from './lib/version.ts'
import { helpOf } from './settings/help.ts'
import { SETTINGS } from './settings.ts'

/** What `shoptrail --help` prints: commands, options, settings of a customer's script and of the gateway. */
export const HELP = `shoptrail ${version}

  shoptrail start [--demo]                    start the gateway
  shoptrail follow                            with a cluster: only follow the log, for reports, forwarding,
                                              persons and retention, without a public port
  shoptrail doctor                            say what is wrong with this installation, and what to do
  shoptrail settings                          print the settings of the gateway, and where each comes from
  shoptrail customer add --origin ORIGIN …    add a customer and print its keys; the REST key is shown only once
  shoptrail customer list                     list the customers
  shoptrail customer set ID …                 change a customer
  shoptrail customer rotate ID --key KEY      make a new key; the old one stops working at once, or with
                                              --overlap later
  shoptrail customer remove ID --yes          remove a customer; its events stay, its id can never be used again
  shoptrail person export --customer ID …     print what is kept of a person, as JSON (--email or --did)
  shoptrail person erase --customer ID …      remove it; without --yes, only say what would be removed
  shoptrail person proofs --customer ID       list what was removed and when, without the persons
${FORWARD_COMMANDS_HELP}
  shoptrail export --customer ID --format F   write the events of a customer to a file, for analysts
  shoptrail data accept                       accept databases other than those of the last start
  shoptrail data upgrade                      upgrade databases of an earlier version, as start does
  shoptrail backup DIR                        copy the databases to a new folder, also while the gateway runs
  shoptrail backup verify DIR                 check that such a copy is whole
  shoptrail restore DIR [--yes]               put it in the place of the databases; stop the gateway first
  shoptrail move --from sqlite --to nats://…  copy everything in DATA_DIR to a cluster; stop the gateway first
  shoptrail snippet --key KEY                 print the tag and the stub for the pages of a shop
  shoptrail check URL                         read pages of a shop, and print what keeps events from arriving

  --origin ORIGIN   an origin whose pages may send events, such as https://shop.example. May be repeated;
                    set replaces all of them. https://*.shop.example is every subdomain of shop.example,
                    but not shop.example itself; "loopback" is every origin of this machine; "null" is
                    pages without an origin (sandboxed frames and pixels, files)
  --name NAME       a name to show for the customer
  --config JSON     settings of the customer's script, such as '{"ga4":true}', below; set changes only
                    those it names, and null resets one to its default: '{"ga4":null}'
  --id ID           an id of your own for the new customer
  --tracking-key KEY
                    a tracking key of your own for it, 6 to 20 characters
  --key KEY         of rotate: "rest" (the secret key) or "tracking" (the key in the pages);
                    of snippet and check: a tracking key
  --overlap TIME    how long the old key still works beside the new one: 30m, 24h or 7d, up to 90d
  --end             end this overlap at once, and make no key
  --gateway URL     the gateway's public address, if PUBLIC_URL is not set; check takes that of the tag
  --keep            the stub that keeps its calls if the visitor leaves before the script has loaded
  --integrity       the tag of a script that stays as it is today, settings included, with its hash
  --list            the scripts that were made with --integrity and are kept
  --remove HASH     remove one of them: pages with its tag load no script any more
  --json            the result of check, doctor, forward list and forward letters as JSON
  --daily-events N  how many events the customer's pages may store in a day (UTC), and the same again
                    its servers; "default" is DAILY_EVENTS
  --daily-bytes N   how many bytes of payloads they may store in a day; "default" is DAILY_BYTES
  --ignore ADDRESS  an address or a network whose visits are not stored, such as that of the shop's office:
                    203.0.113.7, 203.0.113.0/24, 2001:db8::/48. May be repeated; set replaces all of
                    them, and "none" removes them
  --addresses FORM  how events keep the visitor's IP address: "whole" (default), "short" (203.0.113.0,
                    2001:db8:1::) or "none" (0.0.0.0). Events that are stored already do not change
  --retention-days N
                    how many days (UTC) events are kept, from 1 to 3650, counted with the day of arrival;
                    "none" (default) is without a limit. The gateway removes older ones, also those that
                    are stored already. Reports keep the sums of their campaigns
  --currency CODE   the money of the shop's orders, ISO 4217: EUR (default), RON. It counts for orders that
                    are saved from now on
  --time-zone ZONE  the time zone whose days the reports have: UTC (default), Europe/Bucharest
  --refund-status STATUS
                    a status of an order that counts as a refund, in any case: refunded, cancelled and the
                    like by default. May be repeated; set replaces all of them, "none" removes them, and
                    "default" stands for the usual ones
  --customer ID     the customer whose data of a person is exported or erased
  --email ADDRESS   a person by e-mail address: the events of every device that gave it, and every other
                    event that contains it
  --did ID          a person by device id: the events of this device
${FORWARD_OPTIONS_HELP}
  --format F        of export: ndjson, csv or parquet (docs/export.md)
  --to TIME         of export: only events that arrived before this time; with --from, from that one on
  --out FILE        of export: the file to write, in place of stdout. The same command continues an
                    export that was interrupted
  --yes             confirm the removal, or that a restore moves the databases that are there aside
  --demo            start with the demo customer and the demo shop
  --settings FILE   a file with settings of the gateway, in place of SETTINGS_FILE; of every command

To keep keys that your servers already use, pass the REST key (16 to 256 characters) in the environment
variable REST_KEY. It is not an option, since every user of a machine can read all command lines:
  REST_KEY="$(cat key.txt)" shoptrail customer add --id ID --tracking-key KEY --origin ORIGIN

Settings of a customer's script, for --config (ga4 as an object: docs/settings.md):
${settingsHelp()}

Settings of the gateway are environment variables, or lines NAME=VALUE of the file that --settings or the
variable SETTINGS_FILE names. The environment wins (docs/gateway.md):
${helpOf(SETTINGS)}
`
