//! `scontrol show config`, `show reservation` and `ping`.

use super::super::shared_options::VERSION;
use super::{Args, Record};
use cli::failure::{Failure, OK};
use cli::output::Screen;
use cli::server::Server;
use cli::slurm_time::{format_time, long_span};
use common::hostlist::compress;
use common::job::array::ARRAY_TASKS_MAX;
use common::wire::api::{ControllerList, ReservationList, Status};

/// Shows the settings that Slurm clients look up.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn config(server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let status: Status = server.get("/v1/status").await?;
    let now = jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::clone(&screen.zone));
    screen
        .print_line(&format!("Configuration data as of {}", now.strftime("%Y-%m-%dT%H:%M:%S")))?;
    for (name, value) in [
        ("AccountingStorageType", "accounting_storage/kant".to_owned()),
        ("ClusterName", status.cluster),
        ("MaxArraySize", (ARRAY_TASKS_MAX + 1).to_string()),
        ("SLURM_VERSION", VERSION.trim_start_matches("slurm ").to_owned()),
    ] {
        screen.print_line(&format!("{name:<23} = {value}"))?;
    }
    Ok(OK)
}

/// Shows whether the controllers answer.
///
/// # Errors
/// [`Failure`] when none does.
pub async fn ping(server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let list: ControllerList = match server.get("/v1/controllers").await {
        // Only users with a role may list controllers; any user may see that one answers.
        Err(failure) if failure.error_code() == Some("viewers_only") => {
            let _: Status = server.get("/v1/status").await?;
            screen.print_line("Slurmctld(primary) is UP")?;
            return Ok(OK);
        }
        asked => asked?,
    };
    for (place, controller) in list.controllers.iter().enumerate() {
        let role = if place == 0 { "primary" } else { "backup" };
        let up = if controller.heard == Some(false) { "DOWN" } else { "UP" };
        screen.print_line(&format!("Slurmctld({role}) at {} is {up}", controller.address))?;
    }
    Ok(OK)
}

/// Shows these reservations, or all.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or there is no such reservation.
pub async fn reservations(
    args: &Args,
    names: &[&str],
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let list: ReservationList = server.get("/v1/reservations").await?;
    let mut shown = 0;
    for booking in &list.reservations {
        if !names.is_empty() && !names.contains(&booking.name.as_str()) {
            continue;
        }
        shown += 1;
        let or_none = |text: String| if text.is_empty() { "(null)".to_owned() } else { text };
        let mut record = Record::default();
        record.add_line(vec![
            ("ReservationName", booking.name.to_string()),
            ("StartTime", format_time(booking.from, &screen.zone)),
            ("EndTime", format_time(booking.to, &screen.zone)),
            ("Duration", long_span(booking.to.since(booking.from))),
        ]);
        record.add_line(vec![
            ("Nodes", compress(&booking.nodes)),
            ("NodeCnt", booking.nodes.len().to_string()),
            ("Flags", if booking.maintenance { "MAINT" } else { "" }.to_owned()),
        ]);
        let accounts: Vec<String> = booking.accounts.iter().map(ToString::to_string).collect();
        let active = list.as_of >= booking.from && list.as_of < booking.to;
        record.add_line(vec![
            ("Users", or_none(booking.users.join(","))),
            ("Groups", or_none(booking.groups.join(","))),
            ("Accounts", or_none(accounts.join(","))),
            ("State", if active { "ACTIVE" } else { "INACTIVE" }.to_owned()),
        ]);
        screen.print(&record.text(args.oneliner))?;
    }
    if shown == 0 && names.is_empty() {
        screen.print_line("No reservations in the system")?;
    } else if shown == 0 {
        return Err(Failure::from_message(format!("Reservation {} not found", names.join(","))));
    }
    Ok(OK)
}
