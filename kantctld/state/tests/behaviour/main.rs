//! What each command does, told as short stories.

mod cancel_and_requeue;
mod house;
mod life;
mod nodes;
mod rounds;
mod submit;
mod views;
